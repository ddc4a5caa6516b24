"""Where streams begin and end outside of an application: files, HTTP, Kafka topics, timers."""

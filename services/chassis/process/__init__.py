"""What any process of ours has, whatever it does: errors, time, log lines, metrics, settings.

The lowest package of the chassis: it knows no Kubernetes, no log and no stage.
"""

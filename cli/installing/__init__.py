"""`millrace install|upgrade|uninstall`: the chart without Helm, by rendered manifests."""

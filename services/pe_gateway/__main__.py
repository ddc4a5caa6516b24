"""Runs pe-gateway: settings → adapters → chassis."""

from __future__ import annotations

import sys

from services.chassis.process.settings import read_settings
from services.chassis.running.hosting import run_service
from services.pe_gateway.adapters.serving import serving
from services.pe_gateway.adapters.stage import SERVICE, gateway_main
from services.pe_gateway.settings import PeGatewaySettings


def main() -> int:
    """Run until a signal; returns the exit code."""
    settings = read_settings(PeGatewaySettings)
    serve = serving(settings.gateway_port, settings.gateway_host)
    return run_service(SERVICE, gateway_main(settings, serve), settings)


if __name__ == "__main__":
    sys.exit(main())

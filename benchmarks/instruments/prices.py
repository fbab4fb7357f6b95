"""List prices by unit, from ``prices.yaml``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import BaseModel, ConfigDict, Field

FILE = Path(__file__).with_name("prices.yaml")


class UnknownPrice(Exception):
    """The file of prices lacks a unit."""


class ServicePrices(BaseModel):
    """The prices of one service, in USD by unit."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: str
    checked: str
    prices: Mapping[str, Annotated[float, Field(gt=0, allow_inf_nan=False)]]


class PriceList(BaseModel):
    """The prices of a region."""

    model_config = ConfigDict(frozen=True, extra="forbid", ignored_types=(cached_property,))

    region: str
    currency: str
    services: Mapping[str, ServicePrices]

    @cached_property
    def _services_of_units(self) -> Mapping[str, str]:
        return {unit: name for name, service in self.services.items() for unit in service.prices}

    def find_service(self, unit: str) -> str:
        """Return the service that bills a unit. Raises ``UnknownPrice``."""
        try:
            return self._services_of_units[unit]
        except KeyError:
            raise UnknownPrice(f"The file of prices has no price for {unit}. Add it to its service.") from None

    def find_price(self, unit: str) -> float:
        """Return the price of one unit in USD. Raises ``UnknownPrice``."""
        return self.services[self.find_service(unit)].prices[unit]

    def sum_by_service(self, units: Mapping[str, float]) -> dict[str, float]:
        """Return the costs in USD of amounts by unit, by service. Raises ``UnknownPrice``."""
        sums: dict[str, float] = {}
        for unit, amount in units.items():
            service = self.find_service(unit)
            sums[service] = sums.get(service, 0.0) + amount * self.find_price(unit)
        return sums

    def sum(self, units: Mapping[str, float]) -> float:
        """Return the total cost in USD of amounts by unit. Raises ``UnknownPrice``."""
        return sum(self.sum_by_service(units).values())


def read_prices(path: Path = FILE) -> PriceList:
    """Read the file at ``path``. Raises pydantic's ``ValidationError`` if it has another form."""
    return PriceList.model_validate(yaml.safe_load(path.read_text()))

"""Texts of pages with columns."""

from __future__ import annotations

HARBOUR = (
    "The harbour festival opens on the second Saturday of June at ten in the morning near pier seven. Boats of all "
    "kinds leave every half hour for a tour around the island, and the captains explain how the old lighthouse works."
)


PARKING = (
    "Parking is free behind the fish market for visitors who arrive before nine and who show a printed ticket. Later "
    "in the day a bus takes guests from the station to the pier, which stops at the town hall and at the museum."
)

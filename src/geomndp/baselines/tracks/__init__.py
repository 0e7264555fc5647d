"""Simple forecasts of tracks on the sphere."""

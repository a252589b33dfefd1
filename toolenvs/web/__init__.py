"""Read web pages through actions: recorded sites, the live web, a real browser."""

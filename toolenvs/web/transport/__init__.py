"""Where pages come from: transports of httpx, the one seam between a browser and a store, an app or the network."""

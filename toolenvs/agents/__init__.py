"""Who acts in an episode: engines, endpoints, scripts and people."""

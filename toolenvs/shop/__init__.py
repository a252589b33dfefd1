"""A shop that is made from a seed: a catalogue, customers' wishes, and a site where they are bought.

    made = catalogue(1_000, seed=0)
    wish, product = draw_wish(made, Draws("mine", 1), 2, 3)
    Site(made)                     # an ASGI application: search, filters, items with options, cart, order

Brands and series are invented names; kinds, features and prices are drawn. Nothing is taken from any real shop.
"""

from toolenvs.shop.catalogue import Catalogue, Product, catalogue
from toolenvs.shop.site import HOME, Site
from toolenvs.shop.wishes import Piece, Wish, draw_wish

__all__ = ["HOME", "Catalogue", "Piece", "Product", "Site", "Wish", "catalogue", "draw_wish"]

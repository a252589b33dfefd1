"""What a shop sells: departments, their shelves, the kinds of goods on each, and what goods of a kind differ in."""

from collections.abc import Mapping
from dataclasses import dataclass

_COLOURS = (
    "black", "white", "grey", "navy", "teal", "olive", "maroon", "beige", "coral", "mustard", "lilac", "mint",
)  # fmt: skip
_SIZES = ("XS", "S", "M", "L", "XL", "XXL")


@dataclass(frozen=True, slots=True)
class Shelf:
    """Goods that stand together."""

    name: str
    department: str
    kinds: tuple[str, ...]
    """What they are; goods of one shelf may share a word."""
    features: tuple[str, ...]
    """What one of them may be."""
    options: Mapping[str, tuple[str, ...]]
    """What a buyer chooses, each from some of these; where the name is in `DEARER`, later ones cost more."""
    prices: tuple[int, int]
    """In whole dollars, the least and the most."""


DEARER = frozenset({"size", "capacity", "length", "width", "pack", "memory", "weight"})
"""Options of which more costs more."""

_KITCHEN = (
    "dishwasher safe", "rust proof", "heat resistant", "stackable", "hand made", "lightweight", "shatter proof",
    "odourless", "easy to clean", "recycled", "drip free", "insulated", "engraved", "child safe", "scratch proof",
    "vintage",
)  # fmt: skip
_CLOTHING = (
    "machine washable", "quick drying", "wind proof", "breathable", "stretchy", "crease free", "organic", "reversible",
    "water repellent", "seamless", "padded", "long lasting", "hypoallergenic", "reflective", "slim fitting",
    "loose fitting",
)  # fmt: skip
_LAMPS = (
    "foldable", "dimmable", "energy saving", "height adjustable", "wall mounted", "rustic", "modern", "flicker free",
    "rechargeable", "dust repellent", "heat resistant", "voice controlled", "hand painted", "swivelling",
)  # fmt: skip
_FURNITURE = (
    "foldable", "ready assembled", "solid", "height adjustable", "space saving", "rustic", "modern", "scratch proof",
    "wheeled", "lockable", "waxed", "extendable", "hand carved", "easy to clean",
)  # fmt: skip
_BEDDING = (
    "machine washable", "fire resistant", "soft", "hand woven", "non slip", "hypoallergenic", "organic", "quilted",
    "heavy", "cooling", "reversible", "crease free", "fringed", "breathable",
)  # fmt: skip
_OUTDOORS = (
    "waterproof", "ultralight", "tear resistant", "inflatable", "compact", "shock absorbing", "adjustable", "buoyant",
    "UV resistant", "frost proof", "ventilated", "anti bacterial", "hard wearing", "quick to set up", "insect proof",
    "noiseless",
)  # fmt: skip
_INPUT = (
    "wireless", "rechargeable", "silent", "backlit", "ergonomic", "plug and play", "spill proof", "left handed",
    "compact", "solar powered", "programmable", "foldable", "dust proof", "anti bacterial",
)  # fmt: skip
_STORAGE = (
    "encrypted", "shock resistant", "waterproof", "fast", "colour coded", "braided", "tangle free", "gold plated",
    "heat resistant", "magnetic", "ultra thin", "reinforced", "flexible", "certified",
)  # fmt: skip
_PAPER = (
    "refillable", "acid free", "recycled", "left handed", "dotted", "spill proof", "quick drying", "hard wearing",
    "perforated", "engraved", "odourless", "lined", "vegan", "hand bound",
)  # fmt: skip
_TOOLS = (
    "weather proof", "cordless", "galvanised", "telescopic", "hand forged", "rust proof", "lightweight",
    "self sharpening", "non stick", "left handed", "foldable", "insulated", "shock absorbing", "made to last",
)  # fmt: skip
_WATERING = (
    "frost proof", "UV resistant", "kink free", "leak proof", "telescopic", "recycled", "wall mounted", "stackable",
    "lockable", "lightweight", "child safe", "self draining", "non toxic", "insect proof",
)  # fmt: skip
_PLANTING = (
    "biodegradable", "pest resistant", "fragrant", "evergreen", "drought tolerant", "bird friendly", "fast growing",
    "organic", "peat free", "frost hardy", "low maintenance", "native", "edible", "shade loving",
)  # fmt: skip

SHELVES = (
    Shelf("Kettles and pots", "Kitchen", ("electric kettle", "stovetop kettle", "soup pot", "milk pot"), _KITCHEN,
          {"capacity": ("0.5 litre", "1 litre", "1.5 litres", "2 litres", "3 litres"), "colour": _COLOURS}, (15, 90)),
    Shelf("Cups and glasses", "Kitchen", ("coffee cup", "travel cup", "water glass", "tea glass"), _KITCHEN,
          {"pack": ("1 piece", "2 pieces", "4 pieces", "6 pieces"), "colour": _COLOURS}, (4, 30)),
    Shelf("Knives and boards", "Kitchen", ("bread knife", "paring knife", "bread board", "chopping board"), _KITCHEN,
          {"length": ("10 cm", "15 cm", "20 cm", "30 cm"), "material": ("oak", "walnut", "steel", "bamboo")}, (8, 70)),
    Shelf("Jackets and coats", "Clothing", ("rain jacket", "down jacket", "rain coat", "wool coat"), _CLOTHING,
          {"size": _SIZES, "colour": _COLOURS}, (35, 220)),
    Shelf("Shirts and trousers", "Clothing", ("polo shirt", "dress shirt", "dress trousers", "hiking trousers"),
          _CLOTHING, {"size": _SIZES, "colour": _COLOURS, "fit": ("short", "regular", "tall")}, (18, 95)),
    Shelf("Shoes and socks", "Clothing", ("running shoes", "hiking shoes", "hiking socks", "ankle socks"), _CLOTHING,
          {"size": ("36", "38", "40", "42", "44", "46"), "colour": _COLOURS}, (6, 140)),
    Shelf("Lamps", "Home", ("desk lamp", "floor lamp", "floor light", "string light"), _LAMPS,
          {"colour": _COLOURS, "glow": ("warm white", "cool white", "daylight")}, (12, 130)),
    Shelf("Tables and shelves", "Home", ("side table", "desk table", "book shelf", "corner shelf"), _FURNITURE,
          {"width": ("40 cm", "60 cm", "80 cm", "120 cm"), "material": ("oak", "pine", "beech", "steel")}, (30, 260)),
    Shelf("Bedding", "Home", ("bed blanket", "throw blanket", "bed pillow", "throw pillow"), _BEDDING,
          {"size": ("single", "double", "queen", "king"), "colour": _COLOURS}, (10, 110)),
    Shelf("Camping", "Outdoors", ("dome tent", "tunnel tent", "sleeping bag", "sleeping mat"), _OUTDOORS,
          {"size": ("1 person", "2 persons", "3 persons", "4 persons"), "colour": _COLOURS}, (25, 320)),
    Shelf("Bags", "Outdoors", ("day pack", "trekking pack", "trekking bag", "dry bag"), _OUTDOORS,
          {"capacity": ("10 litres", "20 litres", "35 litres", "50 litres"), "colour": _COLOURS}, (14, 180)),
    Shelf("Bicycle parts", "Outdoors", ("bicycle helmet", "bicycle saddle", "front light", "front rack"), _OUTDOORS,
          {"size": ("small", "medium", "large"), "colour": _COLOURS}, (12, 120)),
    Shelf("Keyboards and mice", "Office", ("office keyboard", "game keyboard", "office mouse", "game mouse"), _INPUT,
          {"layout": ("US", "UK", "German", "French", "Nordic"), "colour": _COLOURS}, (12, 150)),
    Shelf("Storage and cables", "Office", ("memory card", "memory stick", "charging cable", "network cable"), _STORAGE,
          {"pack": ("1 piece", "2 pieces", "5 pieces"), "colour": _COLOURS}, (5, 60)),
    Shelf("Paper and pens", "Office", ("paper notebook", "ring notebook", "ring binder", "ink pen"), _PAPER,
          {"pack": ("1 piece", "3 pieces", "10 pieces"), "colour": _COLOURS}, (2, 25)),
    Shelf("Garden tools", "Garden", ("hedge shears", "pruning shears", "pruning saw", "hand rake"), _TOOLS,
          {"length": ("20 cm", "30 cm", "50 cm", "80 cm"), "grip": ("wood", "rubber", "cork")}, (9, 95)),
    Shelf("Watering", "Garden", ("garden hose", "drip hose", "watering can", "rain barrel"), _WATERING,
          {"size": ("small", "medium", "large", "extra large"), "colour": _COLOURS}, (11, 140)),
    Shelf("Seeds and soil", "Garden", ("flower seeds", "herb seeds", "herb soil", "lawn soil"), _PLANTING,
          {"weight": ("100 g", "250 g", "500 g", "1 kg"), "season": ("spring", "summer", "autumn")}, (2, 28)),
)  # fmt: skip
DEPARTMENTS = tuple(dict.fromkeys(shelf.department for shelf in SHELVES))

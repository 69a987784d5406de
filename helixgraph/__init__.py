"""The graph of brain_async on HelixDB: a server, or the engine embedded in this process."""

from helixgraph.graph import HelixGraph
from helixgraph.lifetime import open_helix, open_helix_embedded
from helixgraph.reader import HelixGraphReader

__all__ = ["HelixGraph", "HelixGraphReader", "open_helix", "open_helix_embedded"]

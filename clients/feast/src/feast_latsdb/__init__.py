"""LatsDB as an online store of Feast. In `feature_store.yaml`:

    online_store:
        type: feast_latsdb.LatsdbOnlineStore
        address: http://localhost:8306
"""

from .store import LatsdbOnlineStore, LatsdbOnlineStoreConfig

__all__ = ["LatsdbOnlineStore", "LatsdbOnlineStoreConfig"]
__version__ = "0.1.0"

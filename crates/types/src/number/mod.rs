//! Numbers to text and back, as MySQL does it.

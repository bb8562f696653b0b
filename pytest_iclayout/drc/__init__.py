"""Design rule checking: the embedded engine and report databases."""

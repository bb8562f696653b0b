"""Layout geometry on klayout.db: shapes, files, merged views, connectivity, pictures."""

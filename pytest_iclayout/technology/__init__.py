"""Process technologies as data: layers, conductor stack, design rules."""

"""What a verdict is worth: named, versioned reward configs."""

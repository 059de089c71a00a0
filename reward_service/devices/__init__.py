"""What devices this host has, found without torch."""

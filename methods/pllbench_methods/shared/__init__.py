"""What two methods or more share: views, confidence, losses, contrast, schedules. No method."""

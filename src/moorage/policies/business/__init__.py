"""Policies that place pods by cost and by what they are to the business."""

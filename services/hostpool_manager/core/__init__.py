"""What is known, what is searched next and what statuses say; `placing` decides on one job."""

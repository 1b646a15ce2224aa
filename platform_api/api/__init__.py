"""The routes of ``/api/v1``: they translate between HTTP and the operations of the other folders, and decide nothing."""

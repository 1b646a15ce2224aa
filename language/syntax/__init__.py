"""From text to the syntax tree: tokens, layout, grammar, parser, and the nodes that everything else reads."""

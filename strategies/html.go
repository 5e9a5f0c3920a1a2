package strategies

import "github.com/kbsync/kbsync/connector"

// HTML is the strategy html: what [Markdown] does, over the blocks that the HTML parser makes of a page's tree.
func HTML() connector.StrategyPlugin {
	return connector.Define("html", "Heading sections of a web page with breadcrumbs; tables, lists and preformatted text stay whole while they fit",
		markdownDefaults(), openBlocks("html"))
}

package openai

import "github.com/kbsync/kbsync/internal/providers"

// cards of models that OpenAI's protocol reaches, by the names that the services give them. Sizes, limits and prices are those of the
// providers' documentation and of the models' own cards.
func cards() []providers.Card {
	const e5Query, e5Passage = "query: ", "passage: "
	const qwenQuery = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
	qwenSizes := []int{64, 128, 256, 512, 768, 1024, 1536, 2048}
	return []providers.Card{
		{Name: "text-embedding-3-small", Dimensions: 1536, Any: true, MaxInputTokens: 8192, MaxTokens: 300000, Tokenizer: "cl100k", Normalized: true, Price: 0.02},
		{Name: "text-embedding-3-large", Dimensions: 3072, Any: true, MaxInputTokens: 8192, MaxTokens: 300000, Tokenizer: "cl100k", Normalized: true, Price: 0.13},
		{Name: "text-embedding-ada-002", Dimensions: 1536, MaxInputTokens: 8192, MaxTokens: 300000, Tokenizer: "cl100k", Normalized: true, Price: 0.10},

		{Name: "text-embedding-v4", Dimensions: 1024, Sizes: qwenSizes, MaxInputTokens: 8192},
		{Name: "text-embedding-v3", Dimensions: 1024, Sizes: []int{64, 128, 256, 512, 768}, MaxInputTokens: 8192},
		{Name: "text-embedding-v2", Dimensions: 1536, MaxInputTokens: 2048},
		{Name: "text-embedding-v1", Dimensions: 1536, MaxInputTokens: 2048},

		{Name: "embedding-3", Dimensions: 2048, Sizes: []int{256, 512, 1024}, MaxInputTokens: 3072},

		{Name: "BAAI/bge-m3", Dimensions: 1024, MaxInputTokens: 8192},
		{Name: "Pro/BAAI/bge-m3", Dimensions: 1024, MaxInputTokens: 8192},
		{Name: "BAAI/bge-large-zh-v1.5", Dimensions: 1024, MaxInputTokens: 512},
		{Name: "BAAI/bge-large-en-v1.5", Dimensions: 1024, MaxInputTokens: 512},
		{Name: "BAAI/bge-base-en-v1.5", Dimensions: 768, MaxInputTokens: 512},
		{Name: "BAAI/bge-small-en-v1.5", Dimensions: 384, MaxInputTokens: 512},
		{Name: "netease-youdao/bce-embedding-base_v1", Dimensions: 768, MaxInputTokens: 512},
		{Name: "Qwen/Qwen3-Embedding-0.6B", Dimensions: 1024, Any: true, MaxInputTokens: 32768, QueryPrefix: qwenQuery},
		{Name: "Qwen/Qwen3-Embedding-4B", Dimensions: 2560, Any: true, MaxInputTokens: 32768, QueryPrefix: qwenQuery},
		{Name: "Qwen/Qwen3-Embedding-8B", Dimensions: 4096, Any: true, MaxInputTokens: 32768, QueryPrefix: qwenQuery},
		{Name: "intfloat/multilingual-e5-small", Dimensions: 384, MaxInputTokens: 512, DocumentPrefix: e5Passage, QueryPrefix: e5Query},
		{Name: "intfloat/multilingual-e5-base", Dimensions: 768, MaxInputTokens: 512, DocumentPrefix: e5Passage, QueryPrefix: e5Query},
		{Name: "intfloat/multilingual-e5-large", Dimensions: 1024, MaxInputTokens: 512, DocumentPrefix: e5Passage, QueryPrefix: e5Query},
		{Name: "nomic-ai/nomic-embed-text-v1.5", Dimensions: 768, Any: true, MaxInputTokens: 8192, DocumentPrefix: "search_document: ", QueryPrefix: "search_query: "},
		{Name: "sentence-transformers/all-MiniLM-L6-v2", Dimensions: 384, MaxInputTokens: 256},
	}
}

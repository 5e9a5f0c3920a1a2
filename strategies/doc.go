// Package strategies holds the chunking strategies, one file each. They are pure: elements in, chunks out.
//
// # Config
//
// Every strategy takes the keys of [Sizing] (max_tokens, max_chars, overlap, min_chars, unit, tokenizer) and its own.
//
// # Limits
//
// Words are told by blank space and, in Chinese and Japanese, by character: there is no dictionary.
package strategies

package weaviate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weaviate/weaviate/entities/models"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/remote"
)

// distances are Weaviate's names.
func distanceName(distance string) string {
	if distance == "l2" {
		return "l2-squared"
	}
	return distance
}

// properties are all that a class has; nothing else is ever sent, so that auto-schema has nothing to guess.
func (s *Sink) properties() []*models.Property {
	yes, no := true, false
	text := func(own string, filterable bool) *models.Property {
		return &models.Property{
			Name: s.names[own], DataType: []string{"text"}, Tokenization: models.PropertyTokenizationField,
			IndexFilterable: &filterable, IndexSearchable: &no,
		}
	}
	content := text(fieldContent, false)
	if s.config.Fields.Preset != "" { // the readers of the presets search all texts that are indexed for search
		content.Tokenization, content.IndexSearchable = models.PropertyTokenizationWord, &yes
	}
	out := []*models.Property{
		content, text(fieldContext, false), text(fieldEmbedText, false), text(fieldDocID, true), text(fieldSource, true), text(fieldPath, true),
		text(fieldParentID, true), text(fieldContentHash, false), text(fieldRecord, false),
	}
	for _, own := range metadataTexts() {
		out = append(out, text(own, own != "title" && own != "uri"))
	}
	for _, own := range metadataInts() {
		out = append(out, &models.Property{Name: s.names[own], DataType: []string{"int"}, IndexFilterable: &yes})
	}
	terms := text(fieldTerms, true)
	terms.DataType = []string{"text[]"}
	out = append(out, terms, &models.Property{Name: s.names[fieldSearchable], DataType: []string{"boolean"}, IndexFilterable: &yes})
	if s.config.Sparse != "none" {
		words := text(fieldWords, false)
		words.Tokenization, words.IndexSearchable = models.PropertyTokenizationWhitespace, &yes
		out = append(out, words)
	}
	return out
}

// class is the declaration of a generation's class.
func (s *Sink) class(name string, schema connector.Schema) *models.Class {
	index := map[string]any{"distance": distanceName(schema.Distance), "skipDefaultQuantization": true}
	if s.config.Index == indexHNSW && s.config.EF > 0 {
		index["ef"] = s.config.EF
	}
	c := &models.Class{
		Class:       name,
		Description: remote.NewMeta(schema).String(),
		Properties:  s.properties(),
		InvertedIndexConfig: &models.InvertedIndexConfig{
			Bm25:      &models.BM25Config{K1: 1.2, B: 0.75},
			Stopwords: &models.StopwordConfig{Preset: "none"},
		},
		MultiTenancyConfig: &models.MultiTenancyConfig{Enabled: s.config.Tenant != ""},
	}
	if v := s.names[fieldVector]; v != "" {
		c.VectorConfig = map[string]models.VectorConfig{v: {
			Vectorizer: map[string]any{"none": map[string]any{}}, VectorIndexType: s.config.Index, VectorIndexConfig: index,
		}}
		return c
	}
	c.Vectorizer, c.VectorIndexType, c.VectorIndexConfig = "none", s.config.Index, index
	return c
}

// difference says how a class differs from its declaration, for a class that was changed behind kbsync's back; empty if it does
// not. Properties that somebody added are no difference: they are neither read nor written.
func (s *Sink) difference(have *models.Class, schema connector.Schema) string {
	var diff []string
	add := func(format string, args ...any) { diff = append(diff, fmt.Sprintf(format, args...)) }
	byName := map[string]*models.Property{}
	for _, p := range have.Properties {
		byName[p.Name] = p
	}
	for _, want := range s.properties() {
		p := byName[want.Name]
		switch {
		case p == nil:
			add("property %s is missing", want.Name)
		case !slices.Equal(p.DataType, want.DataType):
			add("property %s is %s, wanted %s", want.Name, strings.Join(p.DataType, ", "), strings.Join(want.DataType, ", "))
		case p.Tokenization != want.Tokenization:
			add("property %s has the tokenization %s, wanted %s", want.Name, p.Tokenization, want.Tokenization)
		case !indexed(p.IndexFilterable, want.IndexFilterable), !indexed(p.IndexSearchable, want.IndexSearchable):
			add("property %s lacks its index", want.Name)
		}
	}
	config := have.VectorIndexConfig
	if v := s.names[fieldVector]; v != "" {
		named, ok := have.VectorConfig[v]
		if config = named.VectorIndexConfig; !ok {
			add("there is no vector named %s", v)
		}
	} else if have.VectorIndexType == "" {
		add("there is no unnamed vector")
	}
	if m, ok := config.(map[string]any); ok && m["distance"] != distanceName(schema.Distance) {
		add("its distance is %v, wanted %s", m["distance"], distanceName(schema.Distance))
	}
	if many := have.MultiTenancyConfig != nil && have.MultiTenancyConfig.Enabled; many != (s.config.Tenant != "") {
		if many {
			add("it has tenants: say tenant in the configuration")
		} else {
			add("it has no tenants")
		}
	}
	return strings.Join(diff, "; ")
}

func indexed(have, want *bool) bool {
	return want == nil || !*want || have != nil && *have
}

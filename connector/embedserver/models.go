package embedserver

import (
	"net/http"
)

// modelInfo is OpenAI's object of a model, and what is worth knowing beside.
type modelInfo struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`

	Identity       string `json:"identity"`
	Dimensions     int    `json:"dimensions"`
	MaxInputTokens int    `json:"max_input_tokens,omitempty"`
	InputType      string `json:"input_type"`
}

func (s *Server) info(id string, role Role) modelInfo {
	m := s.model
	return modelInfo{id, "model", s.started, m.Provider, m.Identity(), m.Dimensions, m.MaxInputTokens, role.String()}
}

// listModels names the model by each of its names, and by those that ask for a role where that makes a difference.
func (s *Server) listModels(w http.ResponseWriter, _ *http.Request) {
	list := make([]modelInfo, 0, 3*len(s.names))
	for _, name := range s.names {
		list = append(list, s.info(name, s.opts.Role))
	}
	if s.model.QueryPrefix != s.model.DocumentPrefix {
		for _, name := range s.names {
			list = append(list, s.info(name+suffix(Document), Document), s.info(name+suffix(Query), Query))
		}
	}
	answer(w, http.StatusOK, map[string]any{"object": "list", "data": list})
}

func (s *Server) getModel(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	role, ok := s.resolve(id)
	if !ok {
		refuse(w, s.unknown(id))
		return
	}
	answer(w, http.StatusOK, s.info(id, role))
}

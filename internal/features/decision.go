package features

// Check is a question that a choosing strategy asked of a document, and the answer.
type Check struct {
	// Rule names it, Want is its threshold, Found what was measured.
	Rule  string `json:"rule"`
	Want  string `json:"want"`
	Found string `json:"found"`
	Holds bool   `json:"holds"`
}

// Decision is how a choosing strategy cuts one document.
type Decision struct {
	// Kind of strategy and its settings, and both on one line as chunks name them: "markdown max_tokens=384".
	Kind   string `json:"kind"`
	Config any    `json:"config,omitempty"`
	Choice string `json:"choice"`
	// Reason names thresholds and never figures, so that an edit which changes no answer changes no reason.
	Reason string `json:"reason"`
	// Said is what a language model gave as its reason, in its own words; empty where none was asked.
	Said string `json:"said,omitempty"`
	// Checks were asked in this order.
	Checks []Check `json:"checks"`
}

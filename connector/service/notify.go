package service

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// maxNotification bounds the body of a notification.
const maxNotification = 1 << 20

// notified takes a notification of a bucket, of any sender: S3 and MinIO webhooks, SNS over HTTP, Pub/Sub push, Azure Event Grid.
// What it says is not believed: it makes a run look. Only the senders' handshakes are read.
func (s *Service) notified(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxNotification))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		refuse(w, http.StatusRequestEntityTooLarge, "over %d bytes", maxNotification)
		return
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, "the body cannot be read")
		return
	}
	if len(body) > 0 && !json.Valid(body) {
		refuse(w, http.StatusBadRequest, "expected JSON")
		return
	}
	if code := eventGridCode(r, body); code != "" {
		s.log.Info("Event Grid asked to validate its subscription; answered")
		answer(w, http.StatusOK, map[string]string{"validationResponse": code})
		return
	}
	if kind := snsKind(r, body); kind == "SubscriptionConfirmation" || kind == "UnsubscribeConfirmation" {
		s.confirmation(kind, body)
		answer(w, http.StatusOK, map[string]any{"accepted": false})
		return
	}
	s.Notify()
	answer(w, http.StatusAccepted, map[string]any{"accepted": true})
}

// eventGridCode is the code of Azure Event Grid's handshake; it is answered with the code itself.
func eventGridCode(r *http.Request, body []byte) string {
	if !strings.EqualFold(r.Header.Get("Aeg-Event-Type"), "SubscriptionValidation") {
		return ""
	}
	var events []struct {
		EventType string `json:"eventType"`
		Data      struct {
			Code string `json:"validationCode"`
		} `json:"data"`
	}
	if json.Unmarshal(body, &events) != nil || len(events) == 0 || events[0].EventType != "Microsoft.EventGrid.SubscriptionValidationEvent" {
		return ""
	}
	return events[0].Data.Code
}

// handshake answers the CloudEvents form of Event Grid's question whether events may be sent here.
func handshake(w http.ResponseWriter, r *http.Request) {
	if origin := r.Header.Get("Webhook-Request-Origin"); origin != "" {
		w.Header().Set("Webhook-Allowed-Origin", origin)
		w.Header().Set("Webhook-Allowed-Rate", "*")
	}
	w.Header().Set("Allow", "POST, OPTIONS")
	w.WriteHeader(http.StatusOK)
}

func snsKind(r *http.Request, body []byte) string {
	kind := r.Header.Get("X-Amz-Sns-Message-Type")
	if kind == "" {
		var m struct{ Type, TopicArn string }
		if json.Unmarshal(body, &m) == nil && m.TopicArn != "" {
			kind = m.Type
		}
	}
	return kind
}

// confirmation tells a person of a subscription that waits. The address is never fetched: whoever may post here could have anything
// fetched otherwise.
func (s *Service) confirmation(kind string, body []byte) {
	var m struct{ TopicArn, SubscribeURL string }
	_ = json.Unmarshal(body, &m) // it is JSON; what has another form has no address
	u, err := url.Parse(m.SubscribeURL)
	if err != nil || u.Scheme != "https" || !strings.HasSuffix(u.Hostname(), ".amazonaws.com") && !strings.HasSuffix(u.Hostname(), ".amazonaws.com.cn") {
		s.log.Warn("SNS: "+kind+" with an address that is none of AWS", "topic", m.TopicArn)
		return
	}
	s.log.Warn("SNS: "+kind+": open the address to confirm it, if this topic is yours", "topic", m.TopicArn, "address", m.SubscribeURL)
}

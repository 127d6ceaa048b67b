package jobs

import (
	"crypto/rand"
	"crypto/subtle"
	"time"
)

// FlowTime is how long a person may take to sign in at an OpenID provider.
const FlowTime = 10 * time.Minute

// Flow is a sign-in at an OpenID provider that has begun. Like a [Session] it stands, sealed, in a
// cookie and nowhere else, so that any replica finishes what another began.
type Flow struct {
	// State ties the provider's answer to the browser that asked.
	State string `json:"state"`
	// Nonce ties the ID token to the flow.
	Nonce string `json:"nonce"`
	// Verifier proves that who brings the code also asked for it (PKCE, RFC 7636).
	Verifier string `json:"verifier"`
	// Return is the path to go on to.
	Return    string    `json:"return"`
	ExpiresAt time.Time `json:"expires_at"`
}

// flowPlace keeps sessions from passing for flows and the reverse.
var flowPlace = place{table: "flow", column: "cookie"}

var errNoFlow = &Error{Code: Unauthenticated, Detail: "This sign-in took too long, is done already, or was begun in another browser. Begin again."}

// SealFlow writes a flow as text that a cookie can hold.
func (s *Sealer) SealFlow(flow Flow) (string, error) { return s.sealText(flowPlace, flow) }

// BeginFlow begins a sign-in at an OpenID provider and returns it as text for a cookie, too.
func (s *Service) BeginFlow(returnTo string) (Flow, string, error) {
	flow := Flow{
		State: rand.Text(), Nonce: rand.Text(),
		Verifier:  rand.Text() + rand.Text(), // RFC 7636 wants 43 characters
		Return:    returnTo,
		ExpiresAt: time.Now().Add(FlowTime),
	}
	text, err := s.cfg.Sealer.SealFlow(flow)
	return flow, text, err
}

// ResumeFlow finds the flow that the state of the provider's answer belongs to. Error: Unauthenticated,
// the same whether the text is no flow of ours, has expired, or belongs to another state.
func (s *Service) ResumeFlow(text, state string) (Flow, error) {
	var flow Flow
	if !s.cfg.Sealer.openText(flowPlace, text, &flow) || !time.Now().Before(flow.ExpiresAt) ||
		subtle.ConstantTimeCompare([]byte(flow.State), []byte(state)) != 1 {
		return Flow{}, errNoFlow
	}
	return flow, nil
}

package providertest

import (
	"slices"
	"strings"
	"testing"
)

// A transcript is all that a driver said where a user or a log could see it, and the secrets that it
// must not have said.
type transcript struct {
	said    []string
	secrets []string
}

func (s *transcript) say(text ...string) { s.said = append(s.said, text...) }

// keep adds a secret. It counts for what was said before, too.
func (s *transcript) keep(secret string) { s.secrets = append(slices.Clip(s.secrets), secret) }

// checkTranscript fails the test for each text with a secret, without writing the secret to the test's log.
func (s *transcript) checkTranscript(t *testing.T) {
	for _, text := range s.said {
		for _, secret := range s.secrets {
			if strings.Contains(text, secret) {
				t.Errorf("a secret is in an error, a report, a question or the endpoint: %q",
					strings.ReplaceAll(text, secret, "[secret]"))
			}
		}
	}
}

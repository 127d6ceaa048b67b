package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/provisiond/provisiond/jobs"
)

// checkClaims checks what access tokens and ID tokens have in common. Error: Unauthenticated.
func checkClaims(c jwt.Claims, issuer string, audiences jwt.Audience) error {
	if c.Expiry == nil || c.Subject == "" {
		return tokenRefused("it must have exp and sub")
	}
	expected := jwt.Expected{Issuer: issuer, AnyAudience: audiences, Time: time.Now()}
	if err := c.ValidateWithLeeway(expected, clockSkew); err != nil {
		return tokenRefused(err.Error()) // a fixed text for each rule
	}
	return nil
}

// claimNames are the claims that say who a caller is, in access tokens and in ID tokens.
type claimNames struct {
	service      *jobs.Service
	tenant, kind string
}

// caller makes a caller of a token's claims, without scopes. Error: Unauthenticated.
func (n claimNames) caller(ctx context.Context, registered jwt.Claims, claims map[string]any) (jobs.Caller, error) {
	kind, err := n.kindOf(claims)
	if err != nil {
		return jobs.Caller{}, err
	}
	tenantID, err := n.tenantID(ctx, claims)
	if err != nil {
		return jobs.Caller{}, err
	}
	return jobs.Caller{TenantID: tenantID, KeyID: pseudonym(registered), Kind: kind}, nil
}

func (n claimNames) kindOf(claims map[string]any) (jobs.KeyKind, error) {
	value, ok := claims[n.kind]
	if !ok {
		return jobs.KindAgent, nil
	}
	text, _ := value.(string)
	kind := jobs.KeyKind(text)
	if !slices.Contains([]jobs.KeyKind{jobs.KindAgent, jobs.KindPerson, jobs.KindService, jobs.KindAdmin}, kind) {
		return "", tokenRefused("the claim " + n.kind + " must be agent, person, service or admin")
	}
	return kind, nil
}

func (n claimNames) tenantID(ctx context.Context, claims map[string]any) (string, error) {
	name, _ := claims[n.tenant].(string)
	if name == "" || strings.ContainsRune(name, 0) { // which PostgreSQL cannot look up
		return "", tokenRefused("the claim " + n.tenant + " must be a tenant's name or ID")
	}
	id, err := n.service.TenantID(ctx, name)
	if errors.Is(err, jobs.NotFound) {
		return "", tokenRefused("the claim " + n.tenant + " names no tenant")
	}
	return id, err
}

// scopesOf reads the scopes that are ours: of scope, separated by spaces (RFC 8693, section 4.2), or
// else of scp, as some providers call it. Both are seen as lists, too.
func scopesOf(claims map[string]any) []string {
	value, ok := claims["scope"]
	if !ok {
		value = claims["scp"]
	}
	var granted []string
	switch value := value.(type) {
	case string:
		granted = strings.Fields(value)
	case []any:
		for _, item := range value {
			text, _ := item.(string)
			granted = append(granted, text)
		}
	}
	return slices.DeleteFunc(jobs.AllScopes(), func(scope string) bool { return !slices.Contains(granted, scope) })
}

// subjectPrefix begins a caller's ID that is not a key's.
const subjectPrefix = "oidc:"

// pseudonym stands for the caller in the audit log, as a key's ID does. It tells callers apart without
// naming them: a subject may be an e-mail address.
func pseudonym(c jwt.Claims) string {
	digest := sha256.Sum256([]byte(c.Issuer + "|" + c.Subject))
	return subjectPrefix + hex.EncodeToString(digest[:16])
}

package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// etag hashes all that users see. What they do not see, such as a driver's configuration, does not
// change it.
func etag(services []Service) string {
	type publicPlan struct {
		ID, Name, Description string
		Price                 *Price
		ConfirmCost           bool
		UpdatesTo             []string
		Expiry                Expiry
		Parameters            json.RawMessage
	}
	type publicService struct {
		ID, Name, Description string
		Simulated             bool
		Plans                 []publicPlan
	}
	public := make([]publicService, len(services))
	for i, s := range services {
		plans := make([]publicPlan, len(s.Plans))
		for j, p := range s.Plans {
			plans[j] = publicPlan{p.ID, p.Name, p.Description, p.Price, p.ConfirmCost, p.UpdatesTo, p.Expiry, p.Parameters}
		}
		public[i] = publicService{s.ID, s.Name, s.Description, s.Simulated, plans}
	}
	return `"` + hash(public) + `"`
}

// version hashes what a user agrees to with the cost. A reworded description asks nobody again.
func version(p *Plan) string {
	return hash([]any{p.Price, p.Parameters, p.Settings})
}

// hash gives 32 hexadecimal digits.
func hash(v any) string {
	sum := sha256.Sum256(encode(v))
	return hex.EncodeToString(sum[:16])
}

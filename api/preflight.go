package api

import (
	"fmt"

	"github.com/provisiond/provisiond/jobs"
)

// preflightOf shows what a call would run into.
func preflightOf(p jobs.Preflight) (Preflight, error) {
	questions, err := expectedQuestions(p.Questions)
	if err != nil {
		return Preflight{}, fmt.Errorf("preflight: %w", err)
	}
	out := Preflight{
		Valid: len(p.Blockers) == 0, Blockers: make([]Blocker, len(p.Blockers)),
		Questions: questions, Price: priceOf(p.Price), ExternalNames: make([]ExternalName, len(p.Objects)),
	}
	for i, b := range p.Blockers {
		out.Blockers[i] = Blocker{
			Code: string(b.Code), Pointer: optional(b.Pointer), Detail: b.Detail,
			ClearedBy: BlockerClearedBy(b.ClearedBy), JobID: optional(b.JobID),
		}
	}
	for i, o := range p.Objects {
		out.ExternalNames[i] = ExternalName{Kind: o.Kind, Name: o.Name}
	}
	return out, nil
}

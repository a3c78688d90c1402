package main

import (
	"encoding/json"

	fwk "k8s.io/kube-scheduler/framework"
)

// outcome is the shape of `expect` in the conformance vectors.
type outcome struct {
	ID          json.RawMessage             `json:"id"`
	Error       string                      `json:"error,omitempty"`
	PreFilter   *verdict                    `json:"preFilter,omitempty"`
	Rejected    map[string]verdict          `json:"rejected,omitzero"`
	Feasible    []string                    `json:"feasible,omitzero"`
	Scores      map[string]map[string]int64 `json:"scores,omitempty"`
	Totals      map[string]int64            `json:"totals,omitempty"`
	Best        []string                    `json:"best,omitempty"`
	Allocations map[string]nodeAllocation   `json:"allocations,omitempty"`
	Message     string                      `json:"message,omitempty"`
	Preemption  *preemptionOutcome          `json:"preemption,omitempty"`
}

type verdict struct {
	Code    string   `json:"code"`
	Plugin  string   `json:"plugin"`
	Reasons []string `json:"reasons"`
}

type preemptionOutcome struct {
	Eligible   bool                 `json:"eligible"`
	Candidates map[string]candidate `json:"candidates"`
	Chosen     []string             `json:"chosen"`
}

type candidate struct {
	Victims       []string `json:"victims"`
	PDBViolations int64    `json:"pdbViolations"`
}

func verdictOf(status *fwk.Status) verdict {
	return verdict{Code: status.Code().String(), Plugin: status.Plugin(), Reasons: status.Reasons()}
}

func noPreemption() *preemptionOutcome {
	return &preemptionOutcome{Candidates: map[string]candidate{}, Chosen: []string{}}
}

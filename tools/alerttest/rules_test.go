package alerttest_test

import (
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
)

// Checks what promtool check rules checks.
func TestRulesAreValid(t *testing.T) {
	t.Parallel()
	if _, errs := rulefmt.ParseFile("../../deploy/prometheus/alerts.yaml", false, model.UTF8Validation); len(errs) > 0 {
		t.Error(errs)
	}
}

package main

import (
	"context"
	"fmt"
)

func startRestate(context.Context, string) (system, error) {
	return nil, fmt.Errorf("restate is %w", errAway)
}

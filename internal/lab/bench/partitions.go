package bench

import "context"

// Partitions measures the cycle at 64 in flight on ledgers of 1, 4 and 8 partitions: with sync
// always a stream does not group its commits, but several streams sync in parallel.
func Partitions(ctx context.Context, opts Options, plan Plan) (Report, error) {
	if len(plan.InFlight) == 0 {
		plan.InFlight = []int{64}
	}
	var all Report
	for _, n := range []int{1, 4, 8} {
		opts.Partitions = n
		r, err := Cycle(ctx, opts, plan)
		if err != nil {
			return all, err
		}
		all.Machine, all.Floor, all.Cycle = r.Machine, r.Floor, append(all.Cycle, r.Cycle...)
	}
	return all, nil
}

// R3 measures the cycle on a cluster of three servers in this process, with three replicas of each
// stream and sync always.
func R3(ctx context.Context, opts Options, plan Plan) (Report, error) {
	if len(plan.InFlight) == 0 {
		plan.InFlight = []int{1, 64}
	}
	opts.Nodes = 3
	return Cycle(ctx, opts, plan)
}

// Cycle measures the cycle on a bus that it starts.
func Cycle(ctx context.Context, opts Options, plan Plan) (Report, error) {
	bed, err := Embedded(ctx, opts)
	if err != nil {
		return Report{}, err
	}
	defer bed.Close()
	rows, err := bed.Cycle(ctx, plan)
	if err != nil {
		return Report{}, err
	}
	return bed.NewReport(rows), nil
}

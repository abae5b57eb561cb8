// Command footprint prints what a command of askbus costs before it does its
// work: the size of the program, and the processor time and memory of `askbus
// version`, of which it takes the median of 21 runs.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"
)

const runs = 21

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: footprint PROGRAM")
	}
	program := os.Args[1]
	info, err := os.Stat(program) //nolint:gosec // the same
	if err != nil {
		log.Fatal("footprint: ", err)
	}
	var cpu []time.Duration
	var memory []int64
	for range runs {
		c := exec.CommandContext(context.Background(), program, "version") //nolint:gosec // the program that the maintainer names
		if err := c.Run(); err != nil {
			log.Fatal("footprint: ", err)
		}
		usage, ok := c.ProcessState.SysUsage().(*syscall.Rusage)
		if !ok {
			log.Fatal("footprint: this system does not say what a process used")
		}
		cpu = append(cpu, c.ProcessState.UserTime()+c.ProcessState.SystemTime())
		memory = append(memory, usage.Maxrss)
	}
	slices.Sort(cpu)
	slices.Sort(memory)
	fmt.Printf("%s: %.1f MB; a command costs %.0f ms of processor time (%.0f at least) and %.0f MB before its work\n", program,
		float64(info.Size())/1e6, ms(cpu[runs/2]), ms(cpu[0]), float64(memory[runs/2])*1024/1e6)
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

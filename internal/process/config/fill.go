package config

import (
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Fill sets the fields of a settings struct by the names of their variables. The error names a variable that it does not
// have, or whose value is invalid.
func Fill(into any, values map[string]string) error {
	left := maps.Clone(values)
	err := each(into, func(name string, _ reflect.StructField, field reflect.Value) error {
		value, ok := left[name]
		if !ok {
			return nil
		}
		delete(left, name)
		if err := set(field, value); err != nil {
			return fmt.Errorf("settings: %s is %q: %w", name, value, err)
		}
		return nil
	})
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("settings: there is no %s", slices.Sorted(maps.Keys(left))[0])
	}
	return err
}

// Given returns the variables of a settings struct that the environment has, and their values.
func Given(of any) map[string]string {
	given := map[string]string{}
	_ = each(of, func(name string, _ reflect.StructField, _ reflect.Value) error { // the function returns no error
		if value := os.Getenv(name); value != "" {
			given[name] = value
		}
		return nil
	})
	return given
}

// set parses a value as the environment's.
func set(field reflect.Value, value string) error {
	switch into := field.Addr().Interface().(type) {
	case *string:
		*into = value
	case *[]string:
		*into = trim(strings.Split(value, ","))
	case *int:
		n, err := strconv.Atoi(value)
		if err != nil {
			return fmt.Errorf("give a number: %w", err)
		}
		*into = n
	case *bool:
		b, err := strconv.ParseBool(value)
		if err != nil {
			return fmt.Errorf("give true or false: %w", err)
		}
		*into = b
	case *time.Duration:
		d, err := time.ParseDuration(value)
		if err != nil {
			return fmt.Errorf("give a duration such as 90s or 12h: %w", err)
		}
		*into = d
	default:
		return fmt.Errorf("a setting of type %s is not read from a file", field.Type())
	}
	return nil
}

func trim(list []string) []string {
	for i, one := range list {
		list[i] = strings.TrimSpace(one)
	}
	return list
}

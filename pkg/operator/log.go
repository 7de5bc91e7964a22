package operator

import (
	"fmt"
	"strconv"

	"github.com/go-logr/logr"
	"github.com/go-logr/zapr"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// LogOptions say what is logged and how.
type LogOptions struct {
	// Level is error, info, debug, or a verbosity from 0 (info) to 10.
	Level string
	// Format is json or console.
	Format string
}

func (o LogOptions) validate() error {
	if _, err := o.zapLevel(); err != nil {
		return err
	}
	if o.Format != "json" && o.Format != "console" {
		return fmt.Errorf("--log-format %q must be json or console", o.Format)
	}
	return nil
}

// zapLevel gives zap's level. logr's verbosity N is zap's level -N.
func (o LogOptions) zapLevel() (zapcore.Level, error) {
	switch o.Level {
	case "error":
		return zapcore.ErrorLevel, nil
	case "info":
		return zapcore.InfoLevel, nil
	case "debug":
		return zapcore.DebugLevel, nil
	}
	verbosity, err := strconv.Atoi(o.Level)
	if err != nil || verbosity < 0 || verbosity > 10 {
		return 0, fmt.Errorf("--log-level %q must be error, info, debug, or a verbosity from 0 to 10", o.Level)
	}
	return zapcore.Level(-verbosity), nil
}

// NewLogger makes a logger that writes to standard error. It logs at info what is no error of the
// operator, such as a lost right in any namespace but the system namespace.
func NewLogger(options LogOptions, systemNamespace string) (logr.Logger, error) {
	level, err := options.zapLevel()
	if err != nil {
		return logr.Logger{}, err
	}
	config := zap.NewProductionConfig()
	config.Level = zap.NewAtomicLevelAt(level)
	config.Encoding = options.Format
	config.Sampling = nil // a line that explains a failure must not be the one that is dropped
	config.DisableStacktrace = level > zapcore.DebugLevel
	config.EncoderConfig.TimeKey = "time"
	config.EncoderConfig.EncodeTime = zapcore.RFC3339NanoTimeEncoder
	logger, err := config.Build()
	if err != nil {
		return logr.Logger{}, fmt.Errorf("logger: %w", err)
	}
	return lowerExpected(zapr.NewLogger(logger), systemNamespace), nil
}

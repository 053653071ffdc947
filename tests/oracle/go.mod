module tidewaiter.test/oracle

go 1.26

require github.com/expr-lang/expr v1.17.8

require go.yaml.in/yaml/v3 v3.0.5

require github.com/Masterminds/semver/v3 v3.5.0

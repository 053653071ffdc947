module tidewaiter.test/oracle

go 1.26

module conclave

go 1.19

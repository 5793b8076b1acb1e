-- doctor-backend: which process of the server runs our statements?
-- One row: its pid.
select pg_backend_pid()

# The table of hook-signature(5), of what hook-verify -l prints.
"\(.scheme)\(if .also then " (" + .also + ")" else "" end)",
"    \(.signature)\(if .or then " or " + .or else "" end): \(.form)",
(if .signed == "" then "    no digest, secret \(.secret)"
else "    \(.digest) of \(.signed), secret \(.secret)" end),
(if .timestamp then "    time \(if .timestamp == .signature
    then "in the signature" else .timestamp end), \(.clock), "
    + "\(.tolerance_s) s" else empty end),
(if .id then "    id \(.id)\(if .id_signed then ""
    else " (not signed)" end)" else empty end),
(if .type then "    type \(.type)" else empty end)

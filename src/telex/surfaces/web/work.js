// Which views show the work? Each registers itself, in the order in which the navigation has them.
import "./compose.js";
import "./approvals.js";
import "./escalations.js";
import "./dead.js";
import "./stalls.js";
import "./contracts.js";
import "./shutdown.js";
import "./refusals.js";
import "./rates.js";

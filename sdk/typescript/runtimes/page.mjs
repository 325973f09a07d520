// Runs everywhere.mjs in a page, and posts the outcome to the page's server. Parcel does not accept await outside of
// functions.
import { everywhere } from "./everywhere.mjs";

everywhere(new URLSearchParams(location.search).get("node")).catch((error) => String(error.stack ?? error))
  .then((said) => fetch("/said", { method: "POST", body: said }));

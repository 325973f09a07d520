// everywhere in a page: what came of it goes back to where the page is from. Parcel takes no await outside functions.
import { everywhere } from "./everywhere.mjs";

everywhere(new URLSearchParams(location.search).get("node")).catch((error) => String(error.stack ?? error))
  .then((said) => fetch("/said", { method: "POST", body: said }));

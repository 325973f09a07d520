let e;onmessage=async({data:t})=>{try{let n=await import(
/* @vite-ignore */
`/explorer/verifier/index.js`),{verifyProof:r}=await(e??=n.loadVerifier()),i=performance.now(),a=r(new Uint8Array(t));postMessage({verdict:a,took:performance.now()-i})}catch(e){postMessage({refused:e instanceof Error?e.message:`the verifier failed`})}};
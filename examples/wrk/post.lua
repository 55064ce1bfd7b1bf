-- A form, posted. Without a function `request` the text is made once, so this costs nothing while the run goes.

wrk.method = "POST"
wrk.body = "name=prony&year=1821"
wrk.headers["Content-Type"] = "application/x-www-form-urlencoded"

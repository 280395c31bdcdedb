(function () {
  "use strict";
  var token = new URLSearchParams(location.search).get("token") || "";
  var exercises = [], e = 0, g = 0, at = 0, now = null, asked = 0;
  function the(id) { return document.getElementById(id); }

  function say(text, bad) { the("said").textContent = text; the("said").className = bad ? "bad" : ""; }

  function send(what, about) {
    return fetch("/" + what, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Review-Token": token },
      body: JSON.stringify(about || {})
    }).then(function (answer) {
      return answer.json().then(function (found) {
        if (!answer.ok) { throw new Error(found.error); }
        return found;
      });
    }, function () { throw new Error("Nobody answers: is `review-class` still running in its terminal? Nothing was saved."); });
  }
  function failed(error) { say(error.message, true); }

  function exercise() { return exercises[e]; }
  function group() { return exercise().groups[g]; }
  function about(more) {
    var found = { exercise: exercise().name, key: group().key };
    for (var name in more) { found[name] = more[name]; }
    return found;
  }

  function listGroups() {
    var list = the("groups");
    list.replaceChildren.apply(list, exercise().groups.map(function (one, number) {
      var item = document.createElement("li"), button = document.createElement("button"), small = document.createElement("small");
      button.type = "button";
      button.textContent = one.words;
      small.textContent = one.count + (one.count === 1 ? " answer" : " answers") + (one.corrected ? ", " + one.corrected + " corrected" : "");
      button.append(small);
      button.setAttribute("aria-current", String(number === g));
      button.addEventListener("click", function () { go(e, number, 0); });
      item.append(button);
      return item;
    }));
    var chosen = list.querySelector("[aria-current=true]");
    if (chosen) { chosen.scrollIntoView({ block: "nearest", inline: "nearest" }); }
  }

  function showMark(mark) {
    now.mark = mark;
    the("mark").textContent = "The check gave " + mark.verdict + " of " + mark.worth + " points" +
      (mark.corrected ? "; it counts " + mark.points + "." : ".");
    the("points").value = mark.given;
    the("comment").value = mark.comment;
  }

  function unsaved() {
    return now && (the("points").value.trim() !== now.mark.given || the("comment").value.trim() !== now.mark.comment);
  }

  function go(toExercise, toGroup, toAnswer, keep) {
    if (!keep && unsaved()) {
      return save().then(function (saved) { if (saved) { go(toExercise, toGroup, toAnswer, true); } });
    }
    e = toExercise; g = toGroup; at = toAnswer;
    the("exercise").value = String(e);
    listGroups();
    var mine = ++asked;
    now = null;
    return send("answer", about({ at: at })).then(function (answer) {
      if (mine !== asked) { return; }
      now = answer;
      the("student").textContent = answer.student;
      the("notes").textContent = answer.notes.concat(answer.note ? [answer.note] : []).join(" ");
      the("code").textContent = answer.code;
      the("code").scrollTop = 0;
      the("card").innerHTML = answer.card;  // our own markup: what students wrote is escaped in it
      showMark(answer.mark);
      the("place").textContent = "answer " + (at + 1) + " of " + group().count + ", group " + (g + 1) + " of " +
        exercise().groups.length + ", exercise " + (e + 1) + " of " + exercises.length;
      document.body.dataset.at = e + "." + g + "." + at;
    }).catch(failed);
  }

  function step(by) {
    if (at + by >= 0 && at + by < group().count) { go(e, g, at + by); }
    else if (by > 0 && g + 1 < exercise().groups.length) { go(e, g + 1, 0); }
    else if (by < 0 && g > 0) { go(e, g - 1, exercise().groups[g - 1].count - 1); }
    else { say(by > 0 ? "This was the last answer to this exercise: n goes on to the next." : "This is the first answer to this exercise."); }
  }
  function stepGroup(by) {
    if (g + by >= 0 && g + by < exercise().groups.length) { go(e, g + by, 0); }
    else { say(by > 0 ? "This is the last group: n goes on to the next exercise." : "This is the first group."); }
  }
  function stepExercise(by) {
    if (e + by >= 0 && e + by < exercises.length) { go(e + by, 0, 0); }
    else { say(by > 0 ? "This is the last exercise." : "This is the first exercise."); }
  }

  function save() {
    if (!now) { return Promise.resolve(false); }
    var here = now, chosen = group();
    return send("correct", about({ at: at, points: the("points").value, comment: the("comment").value })).then(function (found) {
      if (now === here) { showMark(found.mark); }
      chosen.corrected = found.corrected;
      listGroups();
      say(found.mark.corrected ? "Saved: " + here.student + " has " + found.mark.points + " of " + found.mark.worth + "." : "Taken back: the verdict stands.");
      return true;
    }).catch(function (error) { failed(error); return false; });
  }
  function give(tenths) {
    if (!now) { return; }
    the("points").value = String(Math.round(tenths * now.mark.worth * 1000) / 10000);
    save();
  }
  function takeBack() { the("points").value = ""; the("comment").value = ""; save(); }
  function saveAll() {
    if (!now) { return; }
    var points = the("points").value.trim(), comment = the("comment").value.trim();
    if (!points && !comment) { say("There are neither points nor a comment to give.", true); return; }
    the("sure-title").textContent = "Save " + (points ? points + " points" : "this comment") + " for all " +
      (group().count - group().corrected) + " answers of this group that nobody has corrected?";
    the("sure").showModal();
  }
  function sure() {
    var chosen = group();
    the("sure").close();
    send("correct-group", about({ points: the("points").value, comment: the("comment").value })).then(function (found) {
      chosen.corrected = found.corrected;
      now = null;
      return go(e, g, at, true).then(function () { say("Saved for " + found.changed + (found.changed === 1 ? " answer." : " answers.")); });
    }).catch(failed);
  }
  function focus(id) { the(id).focus(); the(id).select(); }

  var keys = {
    j: function () { step(1); }, k: function () { step(-1); },
    s: function () { stepGroup(1); }, S: function () { stepGroup(-1); },
    n: function () { stepExercise(1); }, N: function () { stepExercise(-1); },
    f: function () { give(10); }, p: function () { focus("points"); }, c: function () { focus("comment"); },
    a: saveAll, u: takeBack, "?": function () { the("help").showModal(); }
  };
  document.addEventListener("keydown", function (event) {
    var writing = /^(INPUT|TEXTAREA)$/.test(event.target.tagName);
    if (the("sure").open) { if (event.key === "y") { event.preventDefault(); sure(); } return; }
    if (the("help").open) { return; }
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); save(); event.target.blur(); return; }
    if (writing) { if (event.key === "Escape") { event.target.blur(); } return; }
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "SELECT") { return; }
    var action = /^[0-9]$/.test(event.key) ? function () { give(Number(event.key)); } : keys[event.key];
    if (action) { event.preventDefault(); action(); }
  });
  the("form").addEventListener("submit", function (event) { event.preventDefault(); save(); });
  the("exercise").addEventListener("change", function () { var to = Number(this.value); this.blur(); go(to, 0, 0); });
  the("all").addEventListener("click", saveAll);
  the("undo").addEventListener("click", takeBack);
  the("next").addEventListener("click", function () { step(1); });
  the("before").addEventListener("click", function () { step(-1); });
  the("help-button").addEventListener("click", keys["?"]);
  the("yes").addEventListener("click", sure);
  the("no").addEventListener("click", function () { the("sure").close(); });
  window.addEventListener("beforeunload", function (event) { if (unsaved()) { event.preventDefault(); } });

  send("overview").then(function (found) {
    exercises = found.exercises;
    exercises.forEach(function (one, number) {
      var option = document.createElement("option");
      option.value = String(number);
      option.textContent = one.name;
      the("exercise").append(option);
    });
    if (exercises.length) { go(0, 0, 0, true); } else { say("Nobody has begun an exercise: there is nothing to review."); }
  }).catch(failed);
})();
